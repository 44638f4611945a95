update retention set round = round + 1
