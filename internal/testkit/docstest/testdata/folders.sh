# A repository without a control plane: a folder for each environment, and the two
# environments again as branches.
git init --quiet --bare fleet.git
git clone --quiet fleet.git clone 2> /dev/null
cd clone
write() { mkdir -p "$(dirname "$1")" && echo "of: $2" > "$1"; }
for env in staging production; do
  write clusters/$env/apps/shop.yaml $env
  write clusters/$env/flux-system/gotk-sync.yaml $env
done
write clusters/staging/apps/new.yaml staging
write clusters/production/old.yaml production
write clusters/production/secrets/token.yaml production
echo /secrets/ > clusters/production/.fairlead-keep
git add --all
git commit --quiet --message "Two environments"
git push --quiet origin HEAD:main HEAD:production
write clusters/staging/apps/later.yaml staging
git add --all
git commit --quiet --message "More in staging"
git push --quiet origin HEAD:staging
git switch --quiet --detach origin/main
