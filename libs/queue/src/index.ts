export * from './runs.schema.ts';
