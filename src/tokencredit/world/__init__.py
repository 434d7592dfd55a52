"""The world 环境: where prompts come from and verdicts are given.

tasks     one response to a prompt, judged by a function
games     an episode of turns with an environment that answers
policy    what writes the tokens
rollout   sampling for tasks; episodes for games
"""
