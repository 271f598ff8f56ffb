import vue from '@vitejs/plugin-vue';
import icons from 'unplugin-icons/vite';
import { defineConfig } from 'vite';

/** Address of the gateway that `npm run dev` forwards to. */
const gateway = process.env.MOLI_DEV_GATEWAY ?? 'http://127.0.0.1:8000';

export default defineConfig({
  plugins: [
    vue(),
    icons({
      compiler: 'vue3',
      defaultClass: 'i',
      iconCustomizer(_collection, _icon, props) {
        props['aria-hidden'] = 'true';
      },
    }),
  ],
  define: {
    __VUE_OPTIONS_API__: true, // Reka and vue-i18n components use it
    __VUE_PROD_DEVTOOLS__: false,
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: false,
    __VUE_I18N_FULL_INSTALL__: false,
    __VUE_I18N_LEGACY_API__: false,
    __INTLIFY_PROD_DEVTOOLS__: false,
  },
  // Fonts and pictures stay files: the content policy of the gateway names only its own origin.
  build: { target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
  server: {
    host: '127.0.0.1',
    port: 5173,
    proxy: {
      '/v1': { target: gateway, ws: true },
      '/api': gateway,
      '/objects': gateway,
    },
  },
});
