"""The thread of the course 主线: the six stages from a prompt to a gradient."""

STAGES = {
    "prompt": {"zh": "提示", "en": "prompt"},
    "tokens": {"zh": "词元", "en": "tokens"},
    "reward": {"zh": "奖励", "en": "reward"},
    "credit": {"zh": "功劳", "en": "credit"},
    "weight": {"zh": "权重", "en": "weight"},
    "gradient": {"zh": "梯度", "en": "gradient"},
}
