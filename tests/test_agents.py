"""Episodes of several turns in one batch: what is sampled, masked, paid and learned."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tokencredit import ALGORITHMS, with_critic, with_turn_groups
from tokencredit.training import Dials, assign_credit, forward, train, update, warm_up
from tokencredit.world.episodes import play
from tokencredit.world.game import Game, evaluate
from tokencredit.world.games import END, make, make_vec
from tokencredit.world.games.base import stream
from tokencredit.world.policy import Policy

GAMES = [
    Game(id="Bandit"),
    Game(id="FrozenLake", dials={"success_rate": 0.8}),
    Game(id="Sokoban"),
    Game(id="WebShop"),
]
each_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.id)


def tiny(game, *, critic=True, context=None, seed=0):
    torch.manual_seed(seed)
    size = dict(width=16, heads=2, layers=1, critic=critic)
    policy = Policy(len(game.vocabulary), context=context or game.context, **size)
    if critic:  # a head of zeros would hide a wrong V
        torch.nn.init.normal_(policy.value_head.weight)
    return policy


def episodes(game, policy=None, *, seeds=(3, 8), size=4, noise=5, **dials):
    games = make_vec(game.id, len(seeds) * size, **game.dials)
    generator = torch.Generator().manual_seed(1)
    return play(
        policy or tiny(game),
        games,
        list(seeds),
        noise=noise,
        max_reply=game.max_reply,
        generator=generator,
        **dials,
    )


def turns_of(game, ids, mask):
    """(observation, reply) of every turn, read off the words of one row."""
    words = [game.vocabulary[i] for i in ids]
    turns, here = [], 0
    while here < len(words) and words[here] == "<obs>":
        act = here + words[here:].index("<act>")
        end = act + 1
        while end < len(words) and mask[end]:
            end += 1
        assert not any(mask[here : act + 1])
        turns.append((" ".join(words[here + 1 : act]), " ".join(words[act + 1 : end])))
        here = end
    return turns


@each_game
def test_the_mask_holds_the_replies_and_a_replay_gives_the_same_episode(game):
    batch, seen = episodes(game)
    draw = stream("noises", 5)
    for row in range(len(batch)):
        mask = batch.mask[row].tolist()
        turns = turns_of(game, batch.tokens[row].tolist(), mask)
        env = make(game.id, **game.dials)
        seed = (3, 8)[int(batch.groups[row])]
        observation, _ = env.reset(seed=seed, noise=draw.getrandbits(62))
        paid, invalid = [], 0
        for said, answer in turns:
            assert said == observation
            assert not (env.terminated or env.truncated)
            observation, reward, _, _, info = env.step(answer)
            paid.append(reward)
            invalid += info["invalid"] is not None
        assert env.terminated or env.truncated
        assert bool(batch.truncated[row]) == env.truncated
        ends = batch.turn_ends[row]
        assert batch.rewards[row][ends].tolist() == pytest.approx(paid)
        assert not batch.rewards[row][~ends].any()
        assert seen["turns"][row] == len(turns)
        assert seen["invalid"][row] == pytest.approx(invalid / len(turns))
        assert seen["success"][row] == info["success"]
        assert seen["length"][row] == sum(len(a.split()) for _, a in turns)


@each_game
def test_log_probs_and_values_speak_of_the_token_in_their_column(game):
    policy = tiny(game)
    batch, _ = episodes(game, policy)
    with torch.no_grad():
        log_probs, _, values = forward(policy, batch)
    live = batch.mask
    torch.testing.assert_close(batch.old_log_probs[live], log_probs[live])
    torch.testing.assert_close(batch.values[live], values[live])
    assert not batch.old_log_probs[~live].any()


@each_game
def test_every_turn_ends_on_its_last_sampled_token(game):
    batch, _ = episodes(game)
    after = torch.cat([batch.mask[:, 1:], torch.zeros_like(batch.mask[:, :1])], 1)
    assert torch.equal(batch.turn_ends, batch.mask & ~after)
    end = game.vocabulary.index(END)
    stops = batch.mask & (batch.tokens == end)
    assert not (stops & ~batch.turn_ends).any()  # nothing is sampled after <end>


def test_a_reply_longer_than_the_limit_is_cut_and_still_ends_its_turn():
    game = replace(GAMES[2], max_reply=2)
    batch, _ = episodes(game)
    runs = batch.mask.int().cumsum(1)[batch.turn_ends].max()
    assert runs > 2 and batch.mask.sum() <= 2 * batch.turn_ends.sum()


def test_after_truncation_stands_the_value_of_the_observation_that_follows():
    game = GAMES[1]
    policy = tiny(game, seed=2)
    warm_up(policy, game, steps=15, batch_size=16, lr=1e-2)
    batch, _ = episodes(game, policy, seeds=(3, 8, 9, 21))
    assert batch.truncated.any() and not batch.truncated.all()
    assert not batch.last_values[~batch.truncated].any()
    draw = stream("noises", 5)
    noises = [draw.getrandbits(62) for _ in range(len(batch))]
    for row in batch.truncated.nonzero().flatten().tolist():
        env = make(game.id, **game.dials)
        seed = (3, 8, 9, 21)[int(batch.groups[row])]
        env.reset(seed=seed, noise=noises[row])
        mask = batch.mask[row].tolist()
        for _, answer in turns_of(game, batch.tokens[row].tolist(), mask):
            observation = env.step(answer)[0]
        length = max(i for i, m in enumerate(mask) if m) + 1
        words = env.encode(f"<obs> {observation} <act>")
        whole = torch.cat([batch.tokens[row, :length], torch.tensor(words)])
        with torch.no_grad():
            value = policy(whole[None])[1][0, -1]
        torch.testing.assert_close(batch.last_values[row], value)


def test_the_same_seeds_give_the_same_batch_and_a_group_differs_only_in_noise():
    one, two = episodes(GAMES[1])[0], episodes(GAMES[1])[0]
    for name, x in one.tensors().items():
        assert torch.equal(x, two.tensors()[name]), name
    first = GAMES[1].env.max_length + 2
    for group in (0, 1):
        rows = one.tokens[one.groups == group]
        assert (rows[:, :first] == rows[0, :first]).all()
        assert (rows != rows[0]).any()


def test_episodes_that_earn_the_same_have_the_same_reward_to_the_last_bit():
    game = Game(id="FrozenLake", dials={"lake": "4x4", "max_turns": 15}, max_reply=4)
    _, seen = episodes(game, size=16)
    garbage = seen["reward"][seen["invalid"] == 1]  # 15 penalties of 0.1, anywhere
    assert len(garbage) > 20
    assert garbage.unique().tolist() == [torch.tensor(-1.5).item()]


def test_greedy_play_is_the_argmax_at_every_sampled_token():
    game = GAMES[2]
    policy = tiny(game)
    batch, _ = episodes(game, policy, temperature=0)
    with torch.no_grad():
        best = policy(batch.tokens[:, :-1])[0].argmax(-1)
    live = batch.mask[:, 1:]
    assert torch.equal(batch.tokens[:, 1:][live], best[live])


def test_an_observation_that_does_not_fit_loses_its_oldest_words_and_is_counted():
    game = GAMES[2]
    words = len(game.env.reset(seed=3)[0].split())
    context = 10 + 2 + game.max_reply  # room for ten words of the first observation
    batch, seen = episodes(game, tiny(game, context=context), seeds=(3,), size=2)
    assert (seen["cut"] >= words - 10).all()
    kept = turns_of(game, batch.tokens[0].tolist(), batch.mask[0].tolist())[0][0]
    assert kept.split() == game.env.reset(seed=3)[0].split()[-10:]
    assert batch.tokens.shape[1] <= context


def test_a_row_without_room_for_a_word_is_truncated_and_not_lost():
    game = Game(id="WebShop")
    context = 38 + 2 + game.max_reply + 3
    batch, seen = episodes(game, tiny(game, context=context))
    short = seen["turns"] < game.env.max_turns
    assert (seen["cut"] > 0).all() and short.any()
    ended = ~batch.truncated
    assert (batch.truncated | ended).all() and batch.truncated[short & ~ended].all()


@pytest.mark.parametrize(
    "change, said",
    [
        (dict(id="Chess"), "FrozenLake"),
        (dict(id="Sokoban", dials={"colour": 1}), "colour"),
        (dict(id="Sokoban", dials={"max_turns": 0}), "max_turns"),
        (dict(id="Sokoban", instances=0), "instances"),
        (dict(id="Sokoban", max_reply=0), "max_reply"),
        (dict(id="Sokoban", mistakes=1.5), "mistakes"),
    ],
)
def test_a_bad_game_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        Game(**change)


def test_play_refuses_another_vocabulary_a_tiny_context_and_a_bad_temperature():
    game = GAMES[0]
    with pytest.raises(ValueError, match="vocabulary"):
        episodes(game, Policy(5, context=game.context))
    with pytest.raises(ValueError, match="room"):
        episodes(game, tiny(game, context=10))
    for temperature in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="temperature"):
            episodes(game, temperature=temperature)
    with pytest.raises(ValueError, match="seeds"):
        play(tiny(game), make_vec(game.id, 5), [1, 2], noise=0)


def test_a_game_pays_its_own_reward():
    game = GAMES[0]
    dials = Dials(steps=1, prompts=2, group_size=2)
    for given in (dict(reward_fn=len), dict(measure={"x": len})):
        with pytest.raises(ValueError, match="a game pays its own reward"):
            train(tiny(game), game, "GRPO", dials=dials, **given)


@each_game
def test_without_mistakes_a_demonstration_is_the_expert(game):
    game = replace(game, mistakes=0.0)
    tokens, mask = game.demonstrations(16, np.random.default_rng(0))
    ended = 0
    for ids, said in zip(tokens.tolist(), mask.tolist(), strict=True):
        turns = turns_of(game, ids, said)
        assert all(answer.endswith(END) for _, answer in turns)
        ended += len(turns) < game.env.max_turns
    assert ended > 0
    random, _ = replace(game, mistakes=1.0).demonstrations(16, np.random.default_rng(0))
    assert random.shape != tokens.shape or (random != tokens).any()


def test_warming_up_teaches_the_format():
    game = replace(GAMES[2], mistakes=0.0)
    policy = tiny(game)
    before = evaluate(policy, game, episodes=32)["invalid"]
    losses = warm_up(policy, game, steps=40, batch_size=16, lr=1e-2)
    after = evaluate(policy, game, episodes=32)["invalid"]
    assert losses[-1] < 0.5 * losses[0] and after < 0.3 < before


def test_evaluation_sees_only_instances_that_training_never_sees(monkeypatch):
    game = replace(GAMES[2], instances=50)
    seen = []
    made = type(game.env).instance_of

    def spy(self, seed):
        seen.append(seed)
        return made(self, seed)

    monkeypatch.setattr(type(game.env), "instance_of", spy)
    evaluate(tiny(game), game, episodes=8)
    assert seen == list(range(50, 58))
    seen.clear()
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    game.sample(tiny(game), 4, 2, temperature=1.0, rng=rng, generator=generator)
    game.demonstrations(4, rng)
    assert max(seen) < 50


STARPO = ALGORITHMS["StarPO"]
ROWS = [
    STARPO,
    replace(ALGORITHMS["StarPO-S"], entropy_coef=0.01),
    with_critic(STARPO),
    with_critic(STARPO, credit_level="turn"),
    with_turn_groups(STARPO),
    replace(ALGORITHMS["DAPO"], length_penalty=None),
]


@each_game
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_kind_of_credit_trains_on_every_game(game, row):
    policy = tiny(game)
    before = [p.detach().clone() for p in policy.parameters()]
    dials = Dials(steps=2, prompts=4, group_size=4, micro_size=8, bootstrap=True)
    history = train(policy, game, row, dials=dials)
    assert len(history) == 2 and all(np.isfinite(h["reward"]) for h in history)
    assert {"invalid", "turns", "reward_std", "cut"} <= set(history[0])
    moved = any(
        not torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True)
    )
    assert moved == any(h["kept"] > 0 for h in history)


def test_micro_batches_cut_to_their_rows_give_the_gradient_of_the_whole():
    game, row = GAMES[2], replace(STARPO, kl_coef=0.0)
    gradients = []
    for micro_size in (None, 3):
        policy = tiny(game)
        batch = assign_credit(row, episodes(game, policy)[0])
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
        dials = Dials(micro_size=micro_size, max_grad_norm=1e9)
        update(policy, optimizer, row, batch, dials)
        gradients.append([p.grad for p in policy.parameters() if p.grad is not None])
    for whole, parts in zip(*gradients, strict=True):
        torch.testing.assert_close(whole, parts, rtol=1e-4, atol=1e-7)


def test_an_interrupted_run_ends_as_if_it_had_never_stopped(tmp_path):
    game, file = GAMES[1], tmp_path / "run.pt"
    dials = Dials(steps=3, prompts=2, group_size=4)
    whole = tiny(game)
    train(whole, game, "StarPO", dials=dials)
    parts = tiny(game)
    train(parts, game, "StarPO", dials=replace(dials, steps=1), checkpoint=file)
    again = tiny(game, seed=7)
    history = train(again, game, "StarPO", dials=dials, checkpoint=file)
    assert len(history) == 3
    for a, b in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_bandit_is_learned_from_random_play():
    game = replace(GAMES[0], mistakes=1.0)
    torch.manual_seed(0)
    policy = Policy(len(game.vocabulary), context=game.context, width=32, layers=1)
    warm_up(policy, game, steps=40, lr=1e-2)
    before = evaluate(policy, game, temperature=1.0)["success"]
    dials = Dials(steps=60, prompts=8, group_size=16, lr=3e-3)
    train(policy, game, "StarPO", dials=dials)
    after = evaluate(policy, game, temperature=1.0)["success"]
    assert 0.3 < before < 0.7 and after > 0.9
