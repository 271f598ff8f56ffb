import { defineStore } from 'pinia';
import { ref, watch } from 'vue';
import { readPreference, writePreference } from '../preferences/storage.ts';
import { railFloats } from './media-query.ts';

/** What is open in the frame around the pages. */
export const useFrame = defineStore('frame', () => {
  const rail = ref(readPreference('rail', true));
  /** The rail as a drawer, in windows too narrow for it. */
  const drawer = ref(false);
  const palette = ref(false);
  const shortcutList = ref(false);
  watch(rail, (value) => writePreference('rail', value));

  function toggleRail(): void {
    if (matchMedia(railFloats).matches) drawer.value = !drawer.value;
    else rail.value = !rail.value;
  }
  return { rail, drawer, palette, shortcutList, toggleRail };
});
