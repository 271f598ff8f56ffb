import { createRouter, createWebHistory } from 'vue-router';
import ChatPage from './chat/chat-page.vue';

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/', name: 'new', component: ChatPage },
    { path: '/c/:sessionId', name: 'chat', component: ChatPage, props: true },
    {
      path: '/settings/:section(models|appearance|shortcuts|account)?',
      name: 'settings',
      component: () => import('./settings/settings-page.vue'),
      props: (route) => ({ section: route.params.section || 'models' }),
    },
    { path: '/:rest(.*)*', redirect: '/' },
  ],
});
