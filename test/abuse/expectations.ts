import { FILE_CASES } from './cases/files.ts';
import { MEMORY_CASES } from './cases/memory.ts';
import { OUTPUT_CASES } from './cases/output.ts';
import { PROCESS_CASES } from './cases/processes.ts';
import { PROGRAM_CASES } from './cases/programs.ts';
import { SECRET_CASES } from './cases/secrets.ts';
import { WALL_CASES } from './cases/walls.ts';
import type { AbuseCase } from './expectation.ts';

/** Everything that one run alone can try, with the outcome that every runner owes. */
export const EXPECTATIONS: readonly AbuseCase[] = [
  ...PROCESS_CASES,
  ...MEMORY_CASES,
  ...FILE_CASES,
  ...OUTPUT_CASES,
  ...PROGRAM_CASES,
  ...SECRET_CASES,
  ...WALL_CASES,
].sort((a, b) => a.id - b.id);
