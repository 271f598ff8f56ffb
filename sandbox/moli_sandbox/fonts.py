"""Fonts of charts: Chinese first, every script that the system has a font for, whatever the code or a style asks for.

matplotlib falls back from font to font only along the list in `font.family`, not along `font.sans-serif`. So the list goes there, it goes back
there when a style or rcdefaults() takes it away, and the names of fonts that people have at home lead to the ones here.
"""
import dataclasses
import logging

# First found first: Chinese, then Latin with the mathematical minus, then symbols and other scripts.
CHAIN = (
    'Noto Sans CJK SC', 'Noto Sans CJK JP', 'Source Han Sans SC', 'WenQuanYi Micro Hei', 'WenQuanYi Zen Hei', 'Droid Sans Fallback',
    'DejaVu Sans', 'Symbola', 'Noto Sans Arabic', 'Noto Naskh Arabic', 'Noto Sans Devanagari', 'Noto Sans Thai', 'Noto Sans Hebrew', 'Noto Emoji',
)
CHINESE_SANS = CHAIN[:6]
CHINESE_SERIF = ('Noto Serif CJK SC', 'Noto Serif CJK JP') + CHINESE_SANS
# What code written elsewhere asks for: the font here that stands in.
SANS_ALIASES = (
    'SimHei', 'Microsoft YaHei', 'Microsoft YaHei UI', 'Microsoft JhengHei', 'WenQuanYi Micro Hei', 'WenQuanYi Zen Hei', 'PingFang SC', 'PingFang HK',
    'PingFang TC', 'STHeiti', 'Heiti SC', 'Heiti TC', 'Hiragino Sans GB', 'Source Han Sans SC', 'Source Han Sans CN', 'Noto Sans SC', 'Noto Sans CJK',
    'Arial Unicode MS', 'DengXian', 'YouYuan', 'LiSu', 'STXihei', 'Sarasa Gothic SC', 'Alibaba PuHuiTi', 'HarmonyOS Sans SC', 'Malgun Gothic',
    'Yu Gothic', 'Meiryo', 'Noto Sans CJK JP', 'Noto Sans CJK SC',
)
SERIF_ALIASES = ('SimSun', 'NSimSun', 'FangSong', 'KaiTi', 'STSong', 'STKaiti', 'STFangsong', 'STZhongsong', 'Songti SC', 'Noto Serif SC', 'Source Han Serif SC')
GENERIC = {'sans-serif', 'serif', 'monospace', 'cursive', 'fantasy', 'sans', 'sans serif'}


def set_up():
    """Once, in the zygote: aliases, the family list, and the guard that keeps it."""
    import matplotlib
    from matplotlib import font_manager

    known = {entry.name for entry in font_manager.fontManager.ttflist}
    _alias(font_manager.fontManager, known, SANS_ALIASES, CHINESE_SANS)
    _alias(font_manager.fontManager, known, SERIF_ALIASES, CHINESE_SERIF)
    chain = [name for name in CHAIN if name in known]
    _guard_families(font_manager.FontManager, chain)
    for settings in (matplotlib.rcParams, matplotlib.rcParamsDefault, matplotlib.rcParamsOrig):
        dict.__setitem__(settings, 'font.family', ['sans-serif'])
        # The minus sign of the Chinese font is drawn; U+2212 is in the chain in any case.
        dict.__setitem__(settings, 'axes.unicode_minus', True)
    # "findfont: Font family 'X' not found" is logged for each text; the fallback is drawn all the same.
    logging.getLogger('matplotlib.font_manager').setLevel(logging.ERROR)
    font_manager.findfont('Noto Sans CJK SC' if 'Noto Sans CJK SC' in known else 'DejaVu Sans')


def _alias(manager, known, names, stand_ins):
    target = next((name for name in stand_ins if name in known), None)
    if target is None:
        return
    faces = [entry for entry in manager.ttflist if entry.name == target]
    for name in names:
        if name not in known:
            manager.ttflist.extend(dataclasses.replace(face, name=name) for face in faces)


def _guard_families(manager_class, chain):
    """Every look-up of fonts, whatever families it names, also gets the chain: no style or setting can take a script away."""
    original = manager_class._find_fonts_by_props
    found = {}

    def find_fonts_by_props(self, prop, *args, **kwargs):
        from matplotlib.font_manager import FontProperties

        prop = FontProperties._from_any(prop)
        families = families_of(self, prop)
        key = (*families, prop.get_style(), prop.get_variant(), prop.get_weight(), prop.get_stretch(), args, tuple(kwargs.items()))
        if key not in found:
            prop = prop.copy()
            prop.set_family(list(dict.fromkeys([family for family in families if family not in LATIN_DEFAULTS] + chain + families)))
            found[key] = original(self, prop, *args, **kwargs)
        return found[key]

    manager_class._find_fonts_by_props = find_fonts_by_props


def families_of(manager, prop):
    """The families that a text asks for and that there are, generic ones resolved."""
    import matplotlib

    families = []
    for family in prop.get_family():
        if family.lower() in GENERIC:
            families += _known(manager, matplotlib.rcParams.get(f'font.{family.lower().replace("sans serif", "sans-serif")}', ()))
        else:
            families += _known(manager, [family])
    return families


# The lists of matplotlib's and seaborn's styles begin with these: they say "the default", not "this very font".
LATIN_DEFAULTS = {
    'DejaVu Sans', 'Bitstream Vera Sans', 'Computer Modern Sans Serif', 'Lucida Grande', 'Verdana', 'Geneva', 'Lucid', 'Arial', 'Helvetica',
    'Avant Garde', 'Liberation Sans',
}


def _known(manager, families):
    names = getattr(manager, '_moli_names', None)
    if names is None:
        names = manager._moli_names = {entry.name for entry in manager.ttflist}
    return [family for family in families if family in names]
