import { Injectable } from '@nestjs/common';
import { openAiFunction } from '../models/request-body.ts';
import type { ToolDefinition } from './tool.types.ts';

/** Every tool by name and alias; looked up in one step. */
@Injectable()
export class ToolRegistry {
  readonly #tools: ReadonlyMap<string, ToolDefinition>;
  readonly #names: ReadonlyMap<string, string>;

  /** Throws when two tools claim one name. */
  constructor(tools: readonly ToolDefinition[]) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    const names = new Map<string, string>();
    for (const tool of tools) {
      for (const name of [tool.name, ...(tool.aliases ?? [])]) {
        if (names.has(name)) throw new Error(`two tools are called ${name}`);
        names.set(name, tool.name);
      }
    }
    this.#names = names;
  }

  /** In the order of registration. */
  all(): readonly ToolDefinition[] {
    return [...this.#tools.values()];
  }

  /** By name, by alias, or with the `functions.` that some models put before a name. */
  find(name: string): ToolDefinition | undefined {
    const known = this.#names.get(name) ?? this.#names.get(name.replace(/^functions?[.:]/, ''));
    return known === undefined ? undefined : this.#tools.get(known);
  }
}

/** Tools in the form of OpenAI's function calling. */
export const openAiTools = (tools: readonly ToolDefinition[]): ReturnType<typeof openAiFunction>[] =>
  tools.map(openAiFunction);
