"""Ways to choose blocks by held-out probabilities: shifts of log odds, by kind; a ranker of candidates. usage: choices.py PICKLE"""
import pickle, sys, re
from collections import Counter, defaultdict
import numpy as np
import lightgbm as lgb

data = pickle.load(open(sys.argv[1], "rb"))["pages"]
W = re.compile(r"\w+")
KINDS = ("article", "forum", "product", "collection", "listing", "documentation", "service")
for d in data.values():
    d["counts"] = [Counter(W.findall(t.lower())) for t in d["texts"]]
    d["wanted"] = Counter(W.findall(d["gold"].lower()))
def f1(d, mask):
    found = Counter()
    for c, m in zip(d["counts"], mask):
        if m: found += c
    w = d["wanted"]
    return 2 * sum((w & found).values()) / (w.total() + found.total()) if w or found else 1.0
def logit(p): p = np.clip(p, 1e-5, 1 - 1e-5); return np.log(p / (1 - p))
def choose(p, words):
    if not len(p): return np.zeros(0, bool), 0.0
    o = np.argsort(-p, kind="stable"); w = np.maximum(words, 1)[o]; l = p[o] * w
    e = 2 * np.cumsum(l) / (np.cumsum(w) + l.sum()); n = int(np.argmax(e)) + 1
    m = np.zeros(len(p), bool); m[o[:n]] = True
    return m, float(e[n - 1])
def tell(name, scores):
    by = defaultdict(list)
    for n, s in scores.items():
        k = data[n]["kind"]; by[k].append(s)
        if k.startswith("wcxb"): by["wcxb"].append(s)
    print(name, {k: round(float(np.mean(v)), 4) for k, v in sorted(by.items())}, flush=True)
base = {n: f1(d, choose(d["probs"][-1], d["words"])[0]) for n, d in data.items()}
tell("base", base)
for b in (-1, -.6, -.3, .3, .6, 1):
    for s in (.7, 1.0, 1.4):
        tell(f"shift {b} scale {s}", {n: f1(d, choose(1 / (1 + np.exp(-(s * logit(d['probs'][-1]) + b))), d["words"])[0]) for n, d in data.items() if d["kind"].startswith("wcxb")})
# the ranker: candidates by threshold of probability, and by shifts; features of page and candidate; target: F1
def candidates(d):
    p, w = d["probs"][-1], d["words"]; out = []
    z = logit(p)
    for b in (-3, -2, -1.2, -.6, 0, .6, 1.2, 2, 3):
        out.append(choose(1 / (1 + np.exp(-(z + b))), w)[0])
    for t in (.05, .1, .2, .3, .5, .7, .9): out.append(p >= t)
    for t in (.1, .3):  # without short islands, and with gaps filled between the first and the last sure block
        sure = np.flatnonzero(p >= .5)
        if len(sure):
            m = (p >= t); m[: sure[0]] = False; m[sure[-1] + 1:] = False; out.append(m)
            m = np.zeros(len(p), bool); m[sure[0]: sure[-1] + 1] = True; out.append(m & (p >= .03))
    seen, made = set(), []
    for m in out:
        k = m.tobytes()
        if m.any() and k not in seen: seen.add(k); made.append(m)
    return made
def features(d, m):
    p, w = d["probs"][-1], np.maximum(d["words"], 1).astype(float); p1 = d["probs"][0]
    l = p * w; c = w[m].sum(); r = l[m].sum(); total = l.sum()
    ind = np.flatnonzero(m)
    runs = 1 + int((np.diff(ind) > 1).sum()) if len(ind) else 0
    out = [2 * r / (c + total), r / max(c, 1), r / max(total, 1e-6), c / w.sum(), np.log1p(c), np.log1p(w.sum()), np.log1p(total),
           p[m].min(), p[m].mean(), p[~m].max() if (~m).any() else 0, p.max(), runs, np.log1p(len(ind)), len(ind) / len(p),
           ind[0] / len(p), ind[-1] / len(p), float((l * (1 - p)).sum() / max(total, 1e-6)), (p1 * w)[m].sum() / max(c, 1), (p1 * w).sum() / max(total, 1e-6)]
    for t in (.1, .3, .5, .7, .9): out += [w[p >= t].sum() / max(c, 1)]
    out += [w[m & (w >= 20)].sum() / max(c, 1), w[m & (w < 4)].sum() / max(c, 1)]
    return out + list(d["kinds"])
X, y, groups, fold, names = [], [], [], [], []
masks = {}
for n, d in data.items():
    if not len(d["words"]): continue
    cs = candidates(d)
    if not cs: continue
    masks[n] = cs
    fs = [f1(d, m) for m in cs]
    X += [features(d, m) for m in cs]; y += fs; groups += [len(cs)]; fold += [d["fold"]] * len(cs); names += [n] * len(cs)
X, y, fold, names = np.array(X), np.array(y), np.array(fold), np.array(names)
best = defaultdict(float)
for n, v in zip(names, y): best[n] = max(best[n], v)
tell("best candidate", best)
is_w = np.array([data[n]["kind"].startswith("wcxb") for n in names])
for trees, leaves, lr in ((200, 15, .05), (400, 15, .05), (400, 31, .05)):
    pred = np.zeros(len(y))
    for f in range(5):
        tr = fold != f
        m = lgb.train({"objective": "regression", "num_leaves": leaves, "learning_rate": lr, "min_data_in_leaf": 30, "feature_fraction": .6,
                       "bagging_fraction": .8, "bagging_freq": 1, "lambda_l2": 5, "verbosity": -1, "num_threads": 2}, lgb.Dataset(X[tr], y[tr], weight=np.where(is_w[tr], 1.0, .5)), trees)
        pred[~tr] = m.predict(X[~tr])
    top = {}
    for n, v, real in zip(names, pred, y):
        if n not in top or v > top[n][0]: top[n] = (v, real)
    tell(f"ranker {trees} {leaves}", {n: real for n, (_, real) in top.items()})
