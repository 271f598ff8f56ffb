/** Context windows by model name, in tokens, from the vendors' model pages; a cautious value where a family differs. First match wins. */
const WINDOWS: readonly { pattern: RegExp; tokens: number }[] = [
  { pattern: /gpt-5|gpt-oss/i, tokens: 128_000 },
  { pattern: /gpt-4\.1/i, tokens: 1_000_000 },
  { pattern: /gpt-4o|chatgpt-4o|o[134](-|$)/i, tokens: 128_000 },
  { pattern: /gpt-4-32k/i, tokens: 32_000 },
  { pattern: /gpt-4-turbo/i, tokens: 128_000 },
  { pattern: /gpt-4/i, tokens: 8_000 },
  { pattern: /gpt-3\.5/i, tokens: 16_000 },
  { pattern: /deepseek/i, tokens: 64_000 },
  { pattern: /kimi|moonshot-v1-128k|glm-4\.|glm-5|minimax|claude|gemini/i, tokens: 128_000 },
  { pattern: /moonshot-v1-32k/i, tokens: 32_000 },
  { pattern: /moonshot-v1-8k/i, tokens: 8_000 },
  { pattern: /qwen(-|_)?(max|plus|turbo|long|3)|qwq/i, tokens: 32_000 },
];
const UNKNOWN_WINDOW = 32_000;

/** A model's context window when the settings do not say it. Too small only costs old history; too large fails requests. */
export function contextWindowOf(model: string): number {
  return WINDOWS.find(({ pattern }) => pattern.test(model))?.tokens ?? UNKNOWN_WINDOW;
}
