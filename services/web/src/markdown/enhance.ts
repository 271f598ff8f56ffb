import { t } from '../i18n/i18n.ts';

/** Adds what Markdown alone does not give: coloured code, formulas, a button to copy. Works on finished HTML only. */
export function enhance(root: HTMLElement): void {
  for (const fence of root.querySelectorAll<HTMLElement>('.fence:not([data-ready])')) {
    fence.dataset.ready = '';
    addCopyButton(fence);
    const code = fence.querySelector('code');
    const language = code?.dataset.lang;
    if (code && language) whenIdle(() => colour(code, language).catch(stayPlain));
  }
  const formulas = [...root.querySelectorAll<HTMLElement>('.math:not([data-ready])')];
  if (formulas.length > 0) drawFormulas(formulas).catch(stayPlain);
}

/** Code without colours and formulas as text can be read as well. */
function stayPlain(error: unknown): void {
  console.warn('an addition to the text could not be loaded', error);
}

function addCopyButton(fence: HTMLElement): void {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = t('action.copy');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(fence.querySelector('code')?.textContent ?? '');
    button.textContent = t('action.copied');
    window.setTimeout(() => {
      button.textContent = t('action.copy');
    }, 1500);
  });
  fence.append(button);
}

async function colour(code: HTMLElement, language: string): Promise<void> {
  const { highlight } = await import('./highlight.ts');
  const lines = await highlight(code.textContent ?? '', language);
  if (lines && code.isConnected) code.replaceChildren(lines);
}

async function drawFormulas(elements: HTMLElement[]): Promise<void> {
  const { drawFormula } = await import('./formula.ts');
  for (const element of elements) {
    element.dataset.ready = '';
    drawFormula(element);
  }
}

function whenIdle(work: () => void): void {
  if ('requestIdleCallback' in window) window.requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 50);
}
