"""Second stages on the rows of the first ones (held out): objectives, weights, sizes. usage: soft.py PICKLE EXPERIMENT…"""
import pickle, sys, re, time
from collections import Counter, defaultdict
import numpy as np
import lightgbm as lgb
D = pickle.load(open(sys.argv[1], "rb")); data, names = D["pages"], D["names"]
W = re.compile(r"\w+")
for d in data.values():
    d["counts"] = [Counter(W.findall(t.lower())) for t in d["texts"]]; d["wanted"] = Counter(W.findall(d["gold"].lower()))
pages = [n for n, d in data.items() if len(d["words"])]
def f1(d, mask):
    found = Counter()
    for c, m in zip(d["counts"], mask):
        if m: found += c
    w = d["wanted"]; return 2 * sum((w & found).values()) / (w.total() + found.total()) if w or found else 1.0
def choose(p, words):
    o = np.argsort(-p, kind="stable"); w = np.maximum(words, 1)[o]; l = p[o] * w
    e = 2 * np.cumsum(l) / (np.cumsum(w) + l.sum()); n = int(np.argmax(e)) + 1
    m = np.zeros(len(p), bool); m[o[:n]] = True; return m
def tell(name, masks):
    by = defaultdict(list)
    for n, m in masks.items():
        s = f1(data[n], m); k = data[n]["kind"]; by[k].append(s)
        if k.startswith("wcxb"): by["wcxb"].append(s)
    print(name, {k.replace("wcxb-", ""): round(float(np.mean(v)), 4) for k, v in sorted(by.items()) if k.startswith("wcxb") or k in ("scrapinghub", "magic-article", "magic-forum")}, flush=True)
X = np.vstack([data[n]["rows"] for n in pages]); L = np.concatenate([data[n]["labels"] for n in pages])
words = np.concatenate([np.maximum(data[n]["words"], 1) for n in pages]).astype(float)
fold = np.concatenate([np.full(len(data[n]["words"]), data[n]["fold"]) for n in pages])
pid = np.concatenate([np.full(len(data[n]["words"]), i) for i, n in enumerate(pages)])
weights = np.concatenate([data[n]["weights"] for n in pages]); ends = np.cumsum([0] + [len(data[n]["words"]) for n in pages])
golds = np.bincount(pid, words * (L >= .5)); is_w = np.array([data[n]["kind"].startswith("wcxb") for n in pages])
print(X.shape, flush=True)
base = dict(objective="binary", num_leaves=31, learning_rate=.08, min_data_in_leaf=40, feature_fraction=.5, bagging_fraction=.8, bagging_freq=1, lambda_l2=5.0, verbosity=-1, num_threads=2, seed=1)
def run(name, trees=100, y=None, w=None, X=X, seeds=(1,), **settings):
    t = time.time(); p = np.zeros(len(L)); y = (L >= .5).astype(float) if y is None else y; w = weights if w is None else w
    for f in range(5):
        tr = fold != f
        for seed in seeds:
            m = lgb.train(base | settings | dict(seed=seed), lgb.Dataset(X[tr], y[tr], weight=w[tr]), trees)
            p[~tr] += m.predict(X[~tr]) / len(seeds)
    tell(f"{name} ({time.time() - t:.0f} s)", {n: choose(p[ends[i]:ends[i + 1]], data[n]["words"]) for i, n in enumerate(pages)})
    return p
def soft(name, start, trees=60, mix=0.0, **settings):
    """Boosts on from held-out log odds `start` by the gradient of each page's soft F1."""
    t = time.time(); out = np.zeros(len(L)); z0 = np.log(np.clip(start, 1e-6, 1 - 1e-6) / (1 - np.clip(start, 1e-6, 1 - 1e-6)))
    y = L >= .5
    for f in range(5):
        tr = np.flatnonzero(fold != f); P, ww, yy, g = pid[tr], words[tr], L[tr], golds[pid[tr]]
        def obj(preds, _, P=P, ww=ww, yy=yy, g=g):
            p = 1 / (1 + np.exp(-preds)); S = np.bincount(P, p * ww, len(pages))[P] + g + 1; T = np.bincount(P, p * ww * yy, len(pages))[P]
            dF = (2 * yy * ww * S - 2 * T * ww) / S ** 2
            q = p * (1 - p)
            return -dF * q * 100, (2 * ww / S) * q * 100 + 1e-6
        ds = lgb.Dataset(X[tr], yy, init_score=z0[tr])
        m = lgb.train(base | dict(objective=obj, min_data_in_leaf=40, min_sum_hessian_in_leaf=.5) | settings, ds, trees)
        te = fold == f; out[te] = z0[te] + m.predict(X[te], raw_score=True)
    p = 1 / (1 + np.exp(-out))
    tell(f"{name} at .5 ({time.time() - t:.0f} s)", {n: p[ends[i]:ends[i + 1]] >= .5 for i, n in enumerate(pages)})
    tell(f"{name} expected", {n: choose(p[ends[i]:ends[i + 1]], data[n]["words"]) for i, n in enumerate(pages)})
    return p
if __name__ == "__main__":
    tell("oracle", {n: data[n]["labels"] >= .5 for n in pages})
    tell("given", {n: choose(data[n]["probs"][-1], data[n]["words"]) for n in pages})
    p = run("again")
    soft("soft on given", p)
    run("cross entropy", y=L, objective="cross_entropy")
    run("power 1", w=weights ** (1 / .6))
    run("power .8", w=weights ** (.8 / .6))
    run("wcxb twice", w=weights * np.where(is_w[pid], 2, 1))
    run("200 trees .05", 200, learning_rate=.05)
    run("small leaves 15, 200", 200, num_leaves=15)
    run("l2 30", lambda_l2=30.0, min_data_in_leaf=100)
    run("fraction .2", feature_fraction=.2)
    run("three seeds", seeds=(1, 2, 3))
    run("own only", X=X[:, :len(names)])
