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
def bags(name, count=4, part=.75, trees=100, **settings):
    """Averages models of random parts of the pages."""
    t = time.time(); p = np.zeros(len(L)); y = (L >= .5).astype(float); rng = np.random.default_rng(1)
    for f in range(5):
        te = fold == f
        for seed in range(count):
            chosen = rng.random(len(pages)) < part
            tr = (fold != f) & chosen[pid]
            m = lgb.train(base | settings | dict(seed=seed), lgb.Dataset(X[tr], y[tr], weight=weights[tr]), trees)
            p[te] += m.predict(X[te]) / count
    tell(f"{name} ({time.time() - t:.0f} s)", {n: choose(p[ends[i]:ends[i + 1]], data[n]["words"]) for i, n in enumerate(pages)})
    return p
def denoised(name, alphas=(.5, .7), trees=100, **settings):
    """Labels mixed with what models of other pages (within the training folds) say of them."""
    y = (L >= .5).astype(float); out = {a: np.zeros(len(L)) for a in alphas}; t = time.time()
    for f in range(5):
        oof = np.zeros(len(L))
        for g in range(5):
            if g != f:
                tr = (fold != f) & (fold != g)
                oof[fold == g] = lgb.train(base, lgb.Dataset(X[tr], y[tr], weight=weights[tr]), 60).predict(X[fold == g])
        tr = fold != f
        for a in alphas:
            m = lgb.train(base | settings | dict(objective="cross_entropy"), lgb.Dataset(X[tr], a * y[tr] + (1 - a) * oof[tr], weight=weights[tr]), trees)
            out[a][~tr] = m.predict(X[~tr])
    for a in alphas:
        tell(f"{name} {a} ({time.time() - t:.0f} s)", {n: choose(out[a][ends[i]:ends[i + 1]], data[n]["words"]) for i, n in enumerate(pages)})
def worst(p):
    """Per kind: precision, recall, parts of pages below .5; and what is wrong by words."""
    rows = defaultdict(list)
    for i, n in enumerate(pages):
        d = data[n]; m = choose(p[ends[i]:ends[i + 1]], d["words"]); found = Counter()
        for c, x in zip(d["counts"], m):
            if x: found += c
        hit = (d["wanted"] & found).total(); k = d["kind"]
        rows[k].append((hit / max(found.total(), 1), hit / max(d["wanted"].total(), 1), f1(d, m)))
    for k, v in sorted(rows.items()):
        v = np.array(v); print(k, len(v), "P %.3f R %.3f F %.3f  <.3 %.2f <.5 %.2f <.7 %.2f >.95 %.2f  P<.5 %.2f R<.5 %.2f" % (*v.mean(0), *[(v[:, 2] < x).mean() for x in (.3, .5, .7)], (v[:, 2] > .95).mean(), (v[:, 0] < .5).mean(), (v[:, 1] < .5).mean()))
if __name__ == "__main__":
    tell("oracle", {n: data[n]["labels"] >= .5 for n in pages})
    tell("given", {n: choose(data[n]["probs"][-1], data[n]["words"]) for n in pages})
    p = run("again")
    worst(p)
    np.save("/tmp/again.npy", p)
    run("cross entropy", y=L, objective="cross_entropy")
    soft("soft on given", p)
    run("fraction .2, l2 20", feature_fraction=.2, lambda_l2=20.0)
    bags("bags 4, 60 trees", trees=60)
    run("power 1", w=weights ** (1 / .6))
    run("15 leaves, 200", 200, num_leaves=15)
    run("wcxb twice", w=weights * np.where(is_w[pid], 2, 1))
