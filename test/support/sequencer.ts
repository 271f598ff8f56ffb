import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Vitest's own order, but tests that replace or remove what the others use come after them, by name. */
export default class LastSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLast = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/test/cluster/last/');
    const last = files.filter(isLast).sort((a, b) => a.moduleId.localeCompare(b.moduleId));
    return [...(await super.sort(files.filter((file) => !isLast(file)))), ...last];
  }
}
