export {
  ConfigError,
  type ConfigRow,
  describeConfig,
  type Environment,
  type FieldMeta,
  flag,
  integer,
  readConfig,
  variableOf,
  wordList,
} from './config.ts';
