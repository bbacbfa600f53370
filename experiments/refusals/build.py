import p1,p2,p3,p4,p5,base,random,json,collections
R=base.R
random.Random(20240307).shuffle(R)
seen=collections.Counter(r["html"] for r in R); print("dup html",[k[:60] for k,v in seen.items() if v>1])
with open("/tmp/refusal_set.jsonl","w",encoding="utf-8") as f:
    for r in R: f.write(json.dumps(r,ensure_ascii=False)+"\n")
print(len(R),collections.Counter(r["label"] for r in R))
ref=[r for r in R if r["label"]!="content"]
print("refusal",len(ref),"shapes",len({r["shape"] for r in ref}))
print("langs refusal",collections.Counter(r["lang"] for r in ref)); print("langs content",collections.Counter(r["lang"] for r in R if r["label"]=="content"))
for l in sorted({r["label"] for r in R}):
    print(l,"status",dict(collections.Counter(r["status"] for r in R if r["label"]==l)))
    print("  ",", ".join("%s %d"%x for x in collections.Counter(r["shape"] for r in R if r["label"]==l).most_common()))
import re
for r in R:
    if re.search(r"%\(|@[A-Z]{3,}@",r["html"]): print("UNFILLED",r["shape"])
