"""Values before every token (每个词元之前的价值) of five responses, stored in per cent.

`measure` estimates them by Monte Carlo, with 1024 responses for a warm start and 512
for a policy that GRPO trained for 8 iterations; `fit` trains a critic, a copy of warm
start 0, on the scores of as many responses. The responses were sampled by the warm
starts; all five by number 3.
"""

import copy
from dataclasses import replace

import numpy as np
import torch

from tokencredit.training import forward
from tokencredit.world.rollout import rollout, texts
from tokencredit.world.tasks import task
from tokencredit.world.text import encode

PROMPT = "9□5□7=11?"
RESPONSES = (
    "9+5-7=7✗9-5+7=11✓$",
    "9-5+7=11✓$",
    "9+5-7=7✗$",
    "9-5+7=13✓$",
    "9-5+7=11✗$",
)
SIGNS = task("signs")
BATCH = 256  # responses of one step of the critic


def score(response):
    """The verdict on a response: 1 or 0."""
    return SIGNS.reward(PROMPT, response)


def measure(policy, response, count, generator):
    """Mean score of a policy's continuations from before each token (蒙特卡洛估计).

    Args:
        policy: the policy whose values these are.
        response: of the task, with its end token.
        count: responses per token.
        generator: the random stream.

    Returns:
        a list, one mean score per token.
    """
    means = []
    for prefix in (response[:t] for t in range(len(response))):
        rest = replace(SIGNS, max_response=SIGNS.max_response - len(prefix))
        start = [PROMPT + prefix]
        batch = rollout(policy, rest, start, group_size=count, generator=generator)
        ends = texts(batch, SIGNS.vocabulary)
        means.append(sum(score(prefix + end) for end in ends) / count)
    return means


def fit(policy, steps, seed=0):
    """A critic (价值网络): a copy of the policy, fitted to the scores of its responses.

    Args:
        policy: samples, and stays as it is.
        steps: of Adam at 1e-3, each on BATCH new responses to new prompts.
        seed: of prompts and sampling.

    Returns:
        the copy.
    """
    critic = copy.deepcopy(policy)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    for _ in range(steps):
        prompts = SIGNS.prompts(BATCH, rng)
        batch = rollout(policy, SIGNS, prompts, generator=generator)
        pairs = zip(prompts, texts(batch, SIGNS.vocabulary), strict=True)
        scores = torch.tensor([SIGNS.reward(*pair) for pair in pairs])
        values = forward(critic, batch)[2]
        loss = (values - scores[:, None])[batch.mask].square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return critic


def say(critic, response):
    """Values of a critic before each token of a response."""
    ids = torch.tensor([encode(PROMPT + response, SIGNS.vocabulary)])
    with torch.no_grad():
        values = critic(ids)[1][0]
    return values[len(PROMPT) - 1 : -1].tolist()


def stored(table, key, response):
    """A row of a table below, as numbers; `response` by its text or its place."""
    place = response if isinstance(response, int) else RESPONSES.index(response)
    return [int(number) / 100 for number in table[key][place].split()]


# by warm start, and whether GRPO trained it; one row per response
MONTE_CARLO = {
    (0, 0): (
        "34 34 11 8 10 11 11 12 13 48 61 60 99 100 100 100 100 100",
        "34 34 54 52 99 100 99 100 100 100",
        "34 34 11 8 10 11 11 12 13",
        "34 34 54 52 99 100 99 100 0 0",
        "34 34 54 52 99 100 99 100 100 0",
    ),
    (0, 1): (
        "98 99 98 98 98 97 98 97 97 98 99 99 99 99 99 99 100 100",
        "98 99 99 99 100 100 100 100 100 100",
        "98 99 98 98 98 97 98 97 97",
        "98 99 99 99 100 100 100 100 0 0",
        "98 99 99 99 100 100 100 100 100 0",
    ),
    (1, 0): (
        "24 24 4 5 4 4 4 4 6 33 48 46 86 88 87 88 87 100",
        "24 24 45 46 80 82 81 80 83 100",
        "24 24 4 5 4 4 4 4 6",
        "24 24 45 46 80 82 81 80 0 0",
        "24 24 45 46 80 82 81 80 83 0",
    ),
    (1, 1): (
        "66 67 79 79 83 86 82 83 84 86 73 73 71 72 74 75 71 100",
        "66 67 46 45 22 26 21 22 25 100",
        "66 67 79 79 83 86 82 83 84",
        "66 67 46 45 22 26 21 22 7 0",
        "66 67 46 45 22 26 21 22 25 5",
    ),
    (2, 0): (
        "13 13 2 3 3 2 2 3 3 25 43 45 94 93 93 94 94 100",
        "13 13 25 24 53 47 49 48 47 100",
        "13 13 2 3 3 2 2 3 3",
        "13 13 25 24 53 47 49 48 0 0",
        "13 13 25 24 53 47 49 48 47 0",
    ),
    (2, 1): (
        "71 70 85 86 63 66 64 64 68 68 72 73 79 78 76 79 76 100",
        "71 70 39 39 27 27 24 22 28 100",
        "71 70 85 86 63 66 64 64 68",
        "71 70 39 39 27 27 24 22 20 0",
        "71 70 39 39 27 27 24 22 28 21",
    ),
    (3, 0): (
        "22 20 1 1 2 1 1 1 1 17 36 35 80 77 77 77 92 100",
        "22 20 41 41 89 89 87 87 89 100",
        "22 20 1 1 2 1 1 1 1",
        "22 20 41 41 89 89 87 87 0 0",
        "22 20 41 41 89 89 87 87 89 0",
    ),
    (3, 1): (
        "60 65 61 58 79 81 78 78 80 79 81 81 88 88 87 86 90 100",
        "60 65 66 69 71 70 72 69 71 100",
        "60 65 61 58 79 81 78 78 80",
        "60 65 66 69 71 70 72 69 48 0",
        "60 65 66 69 71 70 72 69 71 55",
    ),
    (4, 0): (
        "24 21 1 0 1 1 2 2 1 33 52 47 100 99 99 99 99 100",
        "24 21 45 49 96 95 97 97 96 100",
        "24 21 1 0 1 1 2 2 1",
        "24 21 45 49 96 95 97 97 0 0",
        "24 21 45 49 96 95 97 97 96 0",
    ),
    (4, 1): (
        "79 77 85 83 47 45 52 48 48 43 81 81 98 96 95 97 96 100",
        "79 77 42 41 47 48 46 44 47 100",
        "79 77 85 83 47 45 52 48 48",
        "79 77 42 41 47 48 46 44 1 0",
        "79 77 42 41 47 48 46 44 47 3",
    ),
}
# by the number of responses that the critic was fitted to
CRITIC = {
    0: (
        "4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4",
        "4 4 4 4 4 4 4 4 4 4",
        "4 4 4 4 4 4 4 4 4",
        "4 4 4 4 4 4 4 4 4 4",
        "4 4 4 4 4 4 4 4 4 4",
    ),
    2560: (
        "32 34 43 36 35 37 32 34 40 35 43 35 36 19 42 36 48 55",
        "32 34 41 35 37 32 43 38 53 57",
        "32 34 43 36 35 37 32 34 40",
        "32 34 41 35 37 32 43 38 37 57",
        "32 34 41 35 37 32 43 38 53 40",
    ),
    25600: (
        "28 26 45 54 33 25 27 8 4 38 52 35 51 45 34 94 90 64",
        "28 26 15 10 46 31 43 79 83 82",
        "28 26 45 54 33 25 27 8 4",
        "28 26 15 10 46 31 43 79 7 73",
        "28 26 15 10 46 31 43 79 83 1",
    ),
}
