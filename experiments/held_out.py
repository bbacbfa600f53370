"""Held-out predictions of all pages into a pickle, for experiments. usage: python -m experiments.held_out OUT [--trees N --leaves N --stages N]"""
import argparse, pickle, time
import numpy as np
from tools.text_model import training as T
from tools.text_model.corpus import FOLDS, pages
from tools.text_model.described import Blocks
from tools.text_model.scores import report

a = argparse.ArgumentParser(); a.add_argument("out"); a.add_argument("--trees", type=int, default=T.TREES)
a.add_argument("--leaves", type=int, default=31); a.add_argument("--stages", type=int, default=2)
a.add_argument("--rate", type=float, default=0.08); a.add_argument("--bags", type=int, default=T.BAGS); a = a.parse_args()
T.SETTINGS |= {"num_leaves": a.leaves, "learning_rate": a.rate}; T.STAGES, T.TREES, T.BAGS = a.stages, a.trees, a.bags
blocks, found = Blocks(), pages(); T.prepare(blocks, found)
best = {p.name: blocks.choose(p, p.labels) for p in found}
print("oracle", *report(found, best), sep="\n", flush=True)
tr = T.Training(blocks, found); out = {}; t = time.time()
for fold in range(FOLDS):
    learnt = tr.learn(set(range(FOLDS)) - {fold})
    for p in (p for p in found if p.fold == fold):
        judged = tr.judge(p, learnt)
        out[p.name] = dict(kind=p.kind, fold=p.fold, words=p.words, texts=p.texts, labels=p.labels, gold=p.gold,
            probs=judged, kinds=tr.kinds.probabilities(p, learnt.kinds), weights=p.weights, rows=tr.rows(p, learnt, judged[0]).astype(np.float32))
    print("fold", fold, round(time.time() - t), flush=True)
texts = {p.name: blocks.choose(p, out[p.name]["probs"][-1]) for p in found}
print("chosen", *report(found, texts), sep="\n", flush=True)
pickle.dump(dict(pages=out, names=blocks.names, context=blocks.context), open(a.out, "wb"))
