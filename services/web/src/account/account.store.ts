import { defineStore } from 'pinia';
import { computed, ref } from 'vue';
import { problemOf, whenUnauthenticated } from '../api/client.ts';
import { getMe, getSettings, listAgents, listModels, signOut as signOutRoute } from '../api/routes.ts';
import type { Agent, Me, ModelConfig, Problem, ServerSettings } from '../api/types.ts';
import { useSocket } from '../sessions/socket.store.ts';

export type AccountStatus = 'unknown' | 'signed-in' | 'signed-out' | 'failed';

/** Who is signed in, what their team has configured, and what this server accepts. */
export const useAccount = defineStore('account', () => {
  const status = ref<AccountStatus>('unknown');
  const problem = ref<Problem | null>(null);
  const me = ref<Me | null>(null);
  const settings = ref<ServerSettings | null>(null);
  const models = ref<ModelConfig[]>([]);
  const agents = ref<Agent[]>([]);
  /** The person came by a one-time link and has not chosen a password since. */
  const offerPassword = ref(false);

  whenUnauthenticated(() => {
    if (status.value !== 'signed-in') return;
    status.value = 'signed-out';
    useSocket().close();
  });

  async function load(): Promise<void> {
    // What is in memory belongs to whoever was signed in before.
    const stale = me.value !== null;
    try {
      settings.value ??= await getSettings();
      me.value = await getMe();
      if (stale) return location.reload();
      const [modelPage, agentPage] = await Promise.all([listModels(), listAgents()]);
      models.value = modelPage.items;
      agents.value = agentPage.items;
      problem.value = null;
      status.value = 'signed-in';
    } catch (error) {
      const found = problemOf(error);
      problem.value = found;
      status.value = found.status === 401 ? 'signed-out' : 'failed';
    }
  }

  async function reloadModels(): Promise<void> {
    models.value = (await listModels()).items;
  }

  async function signOut(): Promise<void> {
    await signOutRoute();
    useSocket().close();
    // Everything in memory belongs to the person who leaves.
    location.assign('/');
  }

  const canConfigure = computed(() => me.value?.role === 'owner' || me.value?.role === 'admin');
  const hasModel = computed(() => models.value.length > 0);
  const defaultModel = computed(() => models.value.find((model) => model.isDefault) ?? models.value[0]);

  function agentOf(id: string | undefined): Agent | undefined {
    return agents.value.find((agent) => agent.id === id) ?? agents.value[0];
  }

  /** The model that an agent answers with. */
  function modelOf(agent: Agent | undefined): ModelConfig | undefined {
    const id = agent?.routing.modelConfigId;
    return models.value.find((model) => model.id === id) ?? defaultModel.value;
  }

  return {
    status,
    problem,
    me,
    settings,
    models,
    agents,
    offerPassword,
    canConfigure,
    hasModel,
    defaultModel,
    load,
    reloadModels,
    signOut,
    agentOf,
    modelOf,
  };
});
