# A fleet with the workloads hello and shop in dev, stage and prod, all of it merged, in which no clusters
# report; the reader is in a clone of the control plane.
fairlead init fleet --sample
sed -i 's/write: false/write: true/' fleet/fairlead.yaml
git clone --quiet fleet/control-plane.git control-plane
cd control-plane
sed -i 's/^    - name: .*/&\n      proof: []/' .fairlead/promotion.yaml
for branch in main dev stage prod; do
  git switch --quiet "$branch"
  folder=scheduling-policies
  if [ "$branch" = main ]; then folder=workloads; fi
  sed 's/hello/shop/' "$folder/hello.yaml" > "$folder/shop.yaml"
  git add .
  git commit --quiet --message "Add the shop"
  git push --quiet
done
git switch --quiet main
for _ in 1 2 3; do
  cycle
  merge_all
done
cycle
