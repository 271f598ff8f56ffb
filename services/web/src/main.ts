// First of all: it takes a one-time token out of the address before the router sees it.
import './account/link-token.ts';
import { createPinia } from 'pinia';
import { createApp } from 'vue';
import App from './app.vue';
import { i18n } from './i18n/i18n.ts';
import { router } from './router.ts';
import './styles/index.css';

createApp(App).use(createPinia()).use(i18n).use(router).mount('#app');
