import { defineConfig } from 'vitest/config';
import LastSequencer from './test/support/sequencer.ts';

const STACK = './test/support/global-stack.ts';
const POSTGRES = './libs/testing/src/global-setup.ts';
/**
 * Real processes on a machine that is busy with others: what failed once gets another go, and `./moli test` names it at its end. Tests that must not
 * fail once say `retry: 0`.
 */
const RETRY = 1;
const NEVER = ['**/node_modules/**', '**/dist/**', '**/data/**'];

/** Projects are the kinds of `./moli test`. Those with real processes run one file at a time: they share two cores and one stack. */
export default defineConfig({
  oxc: { decorator: { legacy: true, emitDecoratorMetadata: true } },
  test: {
    // Those that start programs take seconds where others take the processors; the default of 5 is a measurement.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    sequence: { sequencer: LastSequencer },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{services/gateway,services/executor,libs,infra,test}/**/*.spec.ts'],
          exclude: [...NEVER, '**/*.int.spec.ts', 'test/{e2e,browser,abuse,cluster}/**'],
        },
      },
      {
        extends: './services/web/vite.config.ts',
        test: {
          name: 'web',
          root: './services/web',
          testTimeout: 60_000,
          expect: { poll: { timeout: 15_000 } },
          include: ['**/*.spec.ts'],
          exclude: NEVER,
        },
      },
      {
        extends: true,
        test: {
          name: 'int',
          include: ['{services,libs,infra,test}/**/*.int.spec.ts'],
          exclude: [...NEVER, 'test/{e2e,browser,abuse,cluster}/**'],
          globalSetup: [POSTGRES],
          retry: RETRY,
        },
      },
      ...['e2e', 'browser', 'abuse'].map((kind) => ({
        extends: true as const,
        test: {
          name: kind,
          include: [`test/${kind}/**/*.spec.ts`],
          exclude: NEVER,
          globalSetup: [STACK],
          fileParallelism: false,
          // What hostile code can do once it can do.
          retry: kind === 'abuse' ? 0 : RETRY,
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      })),
      {
        extends: true,
        test: {
          name: 'cluster',
          retry: RETRY,
          include: ['test/cluster/**/*.spec.ts'],
          exclude: NEVER,
          globalSetup: ['./test/cluster/support/global-cluster.ts'],
          fileParallelism: false,
          // As many as the warm pool of the release holds.
          maxConcurrency: 6,
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
