"""Six aggregation rules (聚合规则): weight of a token, share of a sequence."""

import torch

from tokencredit import aggregate_loss
from tokencredit.aggregate import AGGREGATIONS
from tokencredit.figures import COLORS, Dial, Explorer, canvas

SHORT = [1, 2, 4, 8, 16, 32, 64]
LONG = [2, 4, 8, 16, 32, 64, 88, 128, 256, 512]
OTHERS = [1, 3, 7, 15]
LIMIT = 512  # C of "seq-mean-token-sum-norm"
LABELS = {
    "token-sum": r"$1$",
    "token-mean": r"$1/N$",
    "seq-mean-token-mean": r"$1/(S\,n_i)$",
    "seq-mean-token-sum": r"$1/S$",
    "seq-sum-token-mean": r"$1/n_i$",
    "seq-mean-token-sum-norm": r"$1/(S\,C)$",
}


def token_weights(short, long, others, rule):
    """Weight of a token (词元的权重) of a short and of the long response.

    The derivative of the aggregated loss with respect to the loss of one token.

    Args:
        short: tokens in each of the short responses.
        long: tokens in the long response.
        others: how many short responses there are beside the long one.
        rule: the name of an aggregation.

    Returns:
        two numbers: a token of a short response, a token of the long one.
    """
    lengths = torch.tensor([short] * others + [long])
    mask = torch.arange(max(short, long)) < lengths[:, None]
    loss = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    constant = LIMIT if AGGREGATIONS[rule].row == "max_length" else None
    aggregate_loss(loss, mask, rule, max_length=constant).backward()
    return loss.grad[0, 0].item(), loss.grad[-1, 0].item()


def figure():
    """Left a token's weight on a log axis, right the share of the long response."""
    fig, axes = canvas(1, 2, height=2.6, left=0.72)
    weight, share = axes
    places = list(range(len(LABELS)))
    for ax in axes:
        ax.set(ylim=(len(LABELS) - 0.5, -0.5), yticks=places)
        ax.set_yticklabels(LABELS.values())
    rings = weight.plot([1] * 6, places, "o", color=COLORS["blue"], mfc="none", ms=8)
    dots = weight.plot([1] * 6, places, "o", color=COLORS["vermilion"], ms=4)
    weight.set(xscale="log", xlim=(1e-5, 3), xlabel="$w_i$")
    weight.set_xticks([1e-4, 1e-2, 1], ["0.0001", "0.01", "1"])
    weight.minorticks_off()
    bars = share.barh(places, [0.5] * 6, 0.6, color=COLORS["vermilion"])
    rest = share.barh(places, [0.5] * 6, 0.6, left=0.5, color=COLORS["blue"])
    share.set(xlim=(0, 1), xlabel=r"$w_i n_i \,/\, \Sigma_j\, w_j n_j$")

    def update(short=2, long=88, others=1):
        numbers = {}
        pairs = [token_weights(short, long, others, rule) for rule in LABELS]
        rings[0].set_xdata([pair[0] for pair in pairs])
        dots[0].set_xdata([pair[1] for pair in pairs])
        for rule, pair, bar, left in zip(LABELS, pairs, bars, rest, strict=True):
            part = pair[1] * long / (pair[1] * long + pair[0] * short * others)
            bar.set_width(part)
            left.set_x(part)
            left.set_width(1 - part)
            numbers[rule] = (*pair, part)
        sequence, token = numbers["seq-mean-token-mean"], numbers["token-mean"]
        return {
            "short_sequence": sequence[0],
            "long_sequence": sequence[1],
            "share_sequence": sequence[2],
            "token": token[1],
            "share_token": token[2],
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "short",
            SHORT,
            start=2,
            symbol="n₁",
            name={"zh": "短回答的词元数", "en": "tokens of a short response"},
            fine=False,
        ),
        Dial(
            "long",
            LONG,
            start=88,
            symbol="n₂",
            name={"zh": "长回答的词元数", "en": "tokens of the long response"},
            fine=False,
        ),
        Dial(
            "others",
            OTHERS,
            start=1,
            symbol="S − 1",
            name={"zh": "短回答有几条", "en": "number of short responses"},
            fine=False,
        ),
    ],
    title={
        "zh": "六种规则：一个词元的权重，一条回答的份额",
        "en": "Six rules: the weight of a token, the share of a response",
    },
    readout={
        "zh": "按回答平均：短回答的词元 {short_sequence:.4f}，"
        "长回答的 {long_sequence:.6f}，长回答占 {share_sequence:.4f}；"
        "按词元平均：每个词元 {token:.6f}，长回答占 {share_token:.4f}",
        "en": "mean of means: a token of a short response {short_sequence:.4f}, "
        "of the long one {long_sequence:.6f}, "
        "share of the long one {share_sequence:.4f}; "
        "token mean: every token {token:.6f}, share of the long one {share_token:.4f}",
    },
    alt={
        "zh": "左图：六种规则各一行，蓝圈是短回答一个词元的权重，"
        "橙点是长回答的，对数轴。"
        "右图：每种规则下长回答（橙）与全部短回答（蓝）在总权重里的份额。",
        "en": "Left: one line per rule, a blue ring for the weight of a token of a "
        "short response, an orange dot for one of the long response, log axis. "
        "Right: the share of the long response (orange) and of all short ones (blue) "
        "in each rule.",
    },
)
