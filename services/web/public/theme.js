// Runs before the first paint (the content policy refuses inline scripts), so that no page flashes in the wrong theme or language.
(() => {
  const read = (key) => {
    try {
      return JSON.parse(localStorage.getItem(`moli.${key}`) ?? 'null');
    } catch {
      return null;
    }
  };
  const root = document.documentElement;
  const theme = read('theme');
  const dark = theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  root.dataset.theme = dark ? 'dark' : 'light';
  const locale = read('locale') ?? (navigator.language.startsWith('zh') ? 'zh' : 'en');
  root.lang = locale === 'en' ? 'en' : 'zh-CN';
})();
