"""Families of transformers models, each small enough to build in a moment: what they are called and where their norm is.

The table is data: it imports neither torch nor transformers. Paths and kinds are what a reader of the class definitions
finds (transformers 5.24); nothing here was taken from :mod:`benchsuite.models.norms`, which is tested against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from benchsuite.errors import UsageError, near

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: ``layer``: centres and scales. ``rms``: scales alone.
Kind = Literal["layer", "rms"]
#: What the model is fed with.
Food = Literal["tokens", "tokens-twice", "pixels"]
#: How the final norm can be told: its output is the trunk's last hidden state, or it is merely the last one that ran.
Evidence = Literal["output", "order"]


@dataclass(frozen=True)
class Size:
    """How large a model is built."""

    width: int = 32
    layers: int = 2
    heads: int = 4
    vocabulary: int = 199

    @property
    def head(self) -> int:
        """Width of one attention head."""
        return self.width // self.heads


#: What a configuration calls width, number of layers, number of heads and width of the feed-forward block.
Names = tuple[str, str, str, str]
COMMON: Names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
GPT: Names = ("n_embd", "n_layer", "n_head", "n_inner")


def _nothing(_size: Size) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Family:
    """One architecture."""

    name: str
    architecture: str
    """Name of the model's class in transformers; its configuration's class is found through it."""
    kind: Kind
    norm: str
    """Module path of the final norm; ``{last}`` stands for the number of the last layer."""
    names: Names = COMMON
    extra: Callable[[Size], Mapping[str, Any]] = field(default=_nothing, repr=False)
    """Further fields of the configuration."""
    food: Food = "tokens"
    offset: float | None = 0.0
    """What the module adds to its ``weight`` to make the scale; None where it has no parameters."""
    evidence: Evidence = "output"

    def path(self, size: Size) -> str:
        """Return the module path of the final norm of a model of ``size``."""
        return self.norm.format(last=size.layers - 1)

    def settings(self, size: Size) -> dict[str, Any]:
        """Return the fields of the configuration."""
        width, layers, heads, ffn = self.names
        values = {width: size.width, layers: size.layers, heads: size.heads, ffn: 2 * size.width}
        words = {} if self.food == "pixels" else {"vocab_size": size.vocabulary, **_SPECIAL}
        return {**words, **values, **self.extra(size)}


#: No token is special where all ids are drawn at random.
_SPECIAL = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def _rotary(size: Size) -> Mapping[str, Any]:
    return {"rotary_dim": size.head // 2}


def _grouped(size: Size) -> Mapping[str, Any]:
    return {"num_key_value_heads": size.heads // 2}


def _explicit_head(size: Size) -> Mapping[str, Any]:
    return {"head_dim": size.head, **_grouped(size)}


def _experts(size: Size) -> Mapping[str, Any]:
    return {**_grouped(size), "num_local_experts": 2, "num_experts_per_tok": 1}


def _picture(size: Size) -> Mapping[str, Any]:
    return {"image_size": PICTURE, "patch_size": PATCH}


def _encoder_decoder(size: Size) -> Mapping[str, Any]:
    return {
        "encoder_layers": size.layers,
        "encoder_attention_heads": size.heads,
        "encoder_ffn_dim": 2 * size.width,
        "decoder_start_token_id": 0,
    }


#: Pixels along one side of a picture and of one of its patches: 64 patches.
PICTURE, PATCH = 32, 4

_BERT_NORM = "encoder.layer.{last}.output.LayerNorm"

_LAYER_NORM_DECODERS = (
    Family("gpt2", "GPT2LMHeadModel", "layer", "transformer.ln_f", GPT),
    Family(
        "gpt-neo",
        "GPTNeoForCausalLM",
        "layer",
        "transformer.ln_f",
        ("hidden_size", "num_layers", "num_heads", "intermediate_size"),
        lambda s: {"attention_types": [[["global"], s.layers]]},
    ),
    Family("gptj", "GPTJForCausalLM", "layer", "transformer.ln_f", GPT, _rotary),
    Family("codegen", "CodeGenForCausalLM", "layer", "transformer.ln_f", GPT, _rotary),
    Family("gpt-bigcode", "GPTBigCodeForCausalLM", "layer", "transformer.ln_f", GPT),
    Family("bloom", "BloomForCausalLM", "layer", "transformer.ln_f", ("hidden_size", "n_layer", "n_head", "n_inner")),
    Family("falcon", "FalconForCausalLM", "layer", "transformer.ln_f"),
    Family("gpt-neox", "GPTNeoXForCausalLM", "layer", "gpt_neox.final_layer_norm"),
    Family(
        "opt",
        "OPTForCausalLM",
        "layer",
        "model.decoder.final_layer_norm",
        ("hidden_size", "num_hidden_layers", "num_attention_heads", "ffn_dim"),
        lambda s: {"word_embed_proj_dim": s.width, "pad_token_id": 1},
    ),
    Family(
        "opt-350m",
        "OPTForCausalLM",
        "layer",
        "model.decoder.layers.{last}.final_layer_norm",
        ("hidden_size", "num_hidden_layers", "num_attention_heads", "ffn_dim"),
        lambda s: {"word_embed_proj_dim": s.width // 2, "pad_token_id": 1, "do_layer_norm_before": False},
        evidence="order",
    ),
    Family("phi", "PhiForCausalLM", "layer", "model.final_layernorm"),
    Family("persimmon", "PersimmonForCausalLM", "layer", "model.final_layernorm"),
    Family("stablelm", "StableLmForCausalLM", "layer", "model.norm"),
    Family("starcoder2", "Starcoder2ForCausalLM", "layer", "model.norm", extra=_grouped),
    Family("cohere", "CohereForCausalLM", "layer", "model.norm", extra=_grouped),
    Family("cohere2", "Cohere2ForCausalLM", "layer", "model.norm", extra=_grouped),
    Family("olmo", "OlmoForCausalLM", "layer", "model.norm", offset=None),
    Family("nemotron", "NemotronForCausalLM", "layer", "model.norm", extra=_explicit_head, offset=1.0),
    Family("mpt", "MptForCausalLM", "layer", "transformer.norm_f", ("d_model", "n_layers", "n_heads", "expansion_ratio"),
           lambda s: {"expansion_ratio": 2, "max_seq_len": 128}),
    Family("xglm", "XGLMForCausalLM", "layer", "model.layer_norm", ("d_model", "num_layers", "attention_heads", "ffn_dim")),
    Family("biogpt", "BioGptForCausalLM", "layer", "biogpt.layer_norm"),
    Family("rwkv", "RwkvForCausalLM", "layer", "rwkv.ln_out", extra=lambda s: {"attention_hidden_size": s.width}),
    Family("ctrl", "CTRLLMHeadModel", "layer", "transformer.layernorm", ("n_embd", "n_layer", "n_head", "dff")),
    Family("openai-gpt", "OpenAIGPTLMHeadModel", "layer", "transformer.h.{last}.ln_2", GPT),
    Family("modernbert-decoder", "ModernBertDecoderForCausalLM", "layer", "model.final_norm"),
)

_LAYER_NORM_ENCODERS = (
    Family("bert", "BertModel", "layer", _BERT_NORM),
    Family("bert-mlm", "BertForMaskedLM", "layer", f"bert.{_BERT_NORM}"),
    Family("roberta", "RobertaModel", "layer", _BERT_NORM, extra=lambda s: {"pad_token_id": 1}),
    Family("electra", "ElectraModel", "layer", _BERT_NORM, extra=lambda s: {"embedding_size": s.width}),
    Family("deberta-v2", "DebertaV2Model", "layer", _BERT_NORM),
    Family("mpnet", "MPNetModel", "layer", _BERT_NORM, extra=lambda s: {"pad_token_id": 1}),
    Family("distilbert", "DistilBertModel", "layer", "transformer.layer.{last}.output_layer_norm",
           ("dim", "n_layers", "n_heads", "hidden_dim")),
    Family("albert", "AlbertModel", "layer", "encoder.albert_layer_groups.0.albert_layers.0.full_layer_layer_norm",
           extra=lambda s: {"embedding_size": s.width // 2}),
    Family("nomic-bert", "NomicBertModel", "layer", "layers.{last}.post_mlp_layernorm"),
    Family("modernbert", "ModernBertModel", "layer", "final_norm"),
    Family("roberta-prelayernorm", "RobertaPreLayerNormModel", "layer", "LayerNorm", extra=lambda s: {"pad_token_id": 1}),
    Family("megatron-bert", "MegatronBertModel", "layer", "encoder.ln"),
    Family("esm", "EsmModel", "layer", "encoder.emb_layer_norm_after", extra=lambda s: {"pad_token_id": 1}),
    Family("xlnet", "XLNetModel", "layer", "layer.{last}.ff.layer_norm", ("d_model", "n_layer", "n_head", "d_inner"), evidence="order"),
    Family("bart", "BartModel", "layer", "decoder.layers.{last}.final_layer_norm", 
           ("d_model", "decoder_layers", "decoder_attention_heads", "decoder_ffn_dim"), _encoder_decoder, "tokens-twice"),
    Family("clip-text", "CLIPTextModel", "layer", "final_layer_norm"),
)

_LAYER_NORM_VISION = (
    Family("vit", "ViTModel", "layer", "layernorm", extra=_picture, food="pixels"),
    Family("deit", "DeiTModel", "layer", "layernorm", extra=_picture, food="pixels"),
    Family("dinov2", "Dinov2Model", "layer", "layernorm", extra=_picture, food="pixels"),
    Family("dinov3-vit", "DINOv3ViTModel", "layer", "norm", extra=_picture, food="pixels"),
    Family("vit-mae", "ViTMAEModel", "layer", "layernorm", extra=lambda s: {**_picture(s), "mask_ratio": 0.0}, food="pixels"),
    Family("ijepa", "IJepaModel", "layer", "layernorm", extra=_picture, food="pixels"),
    Family("swin", "SwinModel", "layer", "layernorm", ("embed_dim", "unused_layers", "unused_heads", "unused_ffn"),
           lambda s: {"image_size": PICTURE, "patch_size": 2, "depths": [1] * s.layers, "num_heads": [s.heads] * s.layers, "window_size": 4}, "pixels"),
    Family("clip-vision", "CLIPVisionModel", "layer", "post_layernorm", extra=_picture, food="pixels", evidence="order"),
    Family("siglip-vision", "SiglipVisionModel", "layer", "post_layernorm", extra=_picture, food="pixels"),
    Family("beit", "BeitModel", "layer", "pooler.layernorm", extra=_picture, food="pixels", evidence="order"),
    Family("convnext", "ConvNextModel", "layer", "layernorm", ("unused_width", "unused_layers", "unused_heads", "unused_ffn"),
           lambda s: {"hidden_sizes": [s.width] * s.layers, "depths": [1] * s.layers, "num_stages": s.layers}, "pixels", evidence="order"),
)

_RMS_NORM = (
    *(
        Family(name, architecture, "rms", "model.norm", extra=_grouped)
        for name, architecture in (
            ("llama", "LlamaForCausalLM"),
            ("mistral", "MistralForCausalLM"),
            ("qwen2", "Qwen2ForCausalLM"),
            ("phi3", "Phi3ForCausalLM"),
            ("olmo2", "Olmo2ForCausalLM"),
            ("olmo3", "Olmo3ForCausalLM"),
            ("granite", "GraniteForCausalLM"),
            ("smollm3", "SmolLM3ForCausalLM"),
            ("bitnet", "BitNetForCausalLM"),
        )
    ),
    *(
        Family(name, architecture, "rms", "model.norm", extra=_explicit_head)
        for name, architecture in (
            ("qwen3", "Qwen3ForCausalLM"),
            ("glm", "GlmForCausalLM"),
            ("glm4", "Glm4ForCausalLM"),
            ("gemma4", "Gemma4ForCausalLM"),
        )
    ),
    *(
        Family(name, architecture, "rms", "model.norm", extra=_explicit_head, offset=1.0)
        for name, architecture in (
            ("gemma", "GemmaForCausalLM"),
            ("gemma2", "Gemma2ForCausalLM"),
            ("gemma3", "Gemma3ForCausalLM"),
            ("vaultgemma", "VaultGemmaForCausalLM"),
        )
    ),
    Family("nanochat", "NanoChatForCausalLM", "rms", "model.norm", extra=_grouped, offset=None),
    Family("mixtral", "MixtralForCausalLM", "rms", "model.norm", extra=_experts),
    Family("gpt-oss", "GptOssForCausalLM", "rms", "model.norm", extra=lambda s: {**_experts(s), "head_dim": s.head}),
    Family("mamba", "MambaForCausalLM", "rms", "backbone.norm_f"),
    Family("mamba2", "Mamba2ForCausalLM", "rms", "backbone.norm_f"),
    Family("t5", "T5ForConditionalGeneration", "rms", "decoder.final_layer_norm",
           ("d_model", "num_layers", "num_heads", "d_ff"), lambda s: {"d_kv": s.head, "decoder_start_token_id": 0}, "tokens-twice"),
)

FAMILIES: dict[str, Family] = {
    family.name: family for family in (*_LAYER_NORM_DECODERS, *_LAYER_NORM_ENCODERS, *_LAYER_NORM_VISION, *_RMS_NORM)
}


def family_of(name: str) -> Family:
    """Return the family ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in FAMILIES:
        raise UsageError(f"there is no model family {name!r}", near(name, FAMILIES))
    return FAMILIES[name]
