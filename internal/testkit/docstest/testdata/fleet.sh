# A fleet with the sample in dev, stage and prod, all of it merged; clones of both
# repositories; the reader is in that of the control plane, where the settings are too.
fairlead init fleet --sample
sed -i 's/write: false/write: true/' fleet/fairlead.yaml
git clone --quiet fleet/control-plane.git control-plane
git clone --quiet fleet/gitops.git gitops
cp fleet/fairlead.yaml control-plane/
cd control-plane
sed -i 's/^    - name: dev$/&\n      proof: []/' .fairlead/promotion.yaml
git commit --quiet --all --message "No clusters report"
git push --quiet
cycle
merge_all
cycle
git fetch --quiet
