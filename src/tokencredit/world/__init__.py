"""The world 环境: the source of prompts and rewards.

tasks     one response to a prompt, judged by a function
games     an episode of turns with an environment that answers
policy    models that sample the tokens
rollout   sampling for tasks; episodes for games
"""
