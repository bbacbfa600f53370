import sys,json
sys.path.insert(0,'/work/main')
from types import SimpleNamespace
from benchmarks.extract_metadata import _pages,is_right
import lycosa
pages=dict(_pages(SimpleNamespace(quick=False)))
bad={'author':[], 'date':[], 'title':[]}; n={k:0 for k in bad}
for i,(row,html) in pages.items():
    f=lycosa.extract(html,url=row.get('url') or None)
    for k,v in (('author',f.author),('date',f.published),('title',f.title)):
        if row.get(k):
            n[k]+=1
            if not is_right(k,row[k],v): bad[k].append((i,row[k],v))
for k in bad: print(k, n[k], 1-len(bad[k])/n[k])
json.dump(bad,open(sys.argv[1],'w'))
