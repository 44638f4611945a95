select round from retention
