import { Stack } from './stack.ts';

/** Vitest's global setup of the kinds that need a whole Moli: one for all their files, gone at the end. */
export default async function setup(): Promise<() => Promise<void>> {
  // A killed test run takes its stack with it, also one that a test has started again.
  process.env.MOLI_STOP_WITH_PID = String(process.pid);
  const stack = await Stack.start();
  process.env.MOLI_TEST_STACK = JSON.stringify(stack.place);
  return async () => {
    delete process.env.MOLI_TEST_STACK;
    await stack.stop();
  };
}
