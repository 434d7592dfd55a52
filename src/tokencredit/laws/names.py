"""The names that other people's functions have for parameters, by the course's name."""

NAMES = {
    "log_probs": (
        "log_prob logprob logprobs logps per_token_logps action_log_probs student"
    ),
    "old_log_probs": (
        "old_log_prob old_logprob old_logprobs old_logps "
        "old_per_token_logps old_action_log_probs"
    ),
    "ref_log_probs": (
        "ref_log_prob ref_logprob ref_logprobs ref_logps "
        "ref_per_token_logps log_probs_base teacher"
    ),
    "sampler_log_probs": "rollout_log_probs rollout_log_prob sampling_per_token_logps",
    "entropies": "entropy",
    "log_ratio": "log_rho log_importance_weights",
    "ratio": "rho ratios importance_ratio importance_weights",
    "advantages": "A advantage adv advs",
    "mask": "response_mask loss_mask completion_mask action_mask",
    "losses": "loss loss_mat per_token_loss",
    "how": "loss_agg_mode aggregation",
    "denominator": "batch_num_tokens num_items_in_batch normalizer",
    "max_length": "loss_scale_factor max_completion_length constant",
    "estimator": "kl_penalty kl_estimator",
    "rewards": "reward scores r token_level_rewards",
    "groups": "group_ids index uid",
    "scale": "scale_rewards norm_adv_by_std_in_grpo",
    "values": "V value",
    "ended": "dones done terminated",
    "lam": "lambd gae_lambda",
    "tokens": (
        "token_ids index labels input_ids response_id response_ids completion_ids"
    ),
    "end": "eos_id eos_token_id eos_token",
    "response": "completion solution_str",
    "answer": "ground_truth solution",
}
