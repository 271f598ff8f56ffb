import type { Locale } from '@moli/errors';

/**
 * The language of the reader from `Accept-Language`: the acceptable one of ours with the highest weight, the first named at equal weight.
 * English when none fits.
 */
export function localeOf(header: string | string[] | undefined): Locale {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  let best: { locale: Locale; weight: number } | undefined;
  for (const part of text.slice(0, 500).split(',')) {
    const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
    const quality = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
    const weight = quality === undefined ? 1 : Number(quality);
    const locale =
      tag === 'zh' || tag.startsWith('zh-') ? 'zh' : tag === 'en' || tag.startsWith('en-') ? 'en' : undefined;
    if (locale && weight > 0 && weight > (best?.weight ?? 0)) best = { locale, weight };
  }
  return best?.locale ?? 'en';
}
