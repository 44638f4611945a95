-- What Rancher Fleet says was changed on the cluster: the other tools change it back.
select cluster.name, cluster.cluster_type, object.name, message.text
from cluster
join object on object.cluster = cluster.id
join state on state.object = object.id and state.phase = 3
join message on message.id = state.message
where cluster.environment = $1 and (object.name like 'BundleDeployment/%' or object.name like 'GitRepo/%') and lower(message.text) like '%modified%'
