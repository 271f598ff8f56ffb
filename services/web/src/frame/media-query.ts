import { onScopeDispose, type Ref, readonly, ref } from 'vue';

/** Windows too narrow for the inspector beside the chat; `narrow.css` has the same width. */
export const inspectorFloats = '(max-width: 1099px)';
/** Windows too narrow for the rail. */
export const railFloats = '(max-width: 899px)';

/** Whether the window meets a media query now. */
export function useMediaQuery(query: string): Readonly<Ref<boolean>> {
  const list = matchMedia(query);
  const matches = ref(list.matches);
  const update = () => {
    matches.value = list.matches;
  };
  list.addEventListener('change', update);
  onScopeDispose(() => list.removeEventListener('change', update));
  return readonly(matches);
}
