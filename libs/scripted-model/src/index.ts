export { mainScene } from './main-scene.ts';
export { chooseReply, lastUserText, type Reply, type Rule, type Script, type Step } from './script.ts';
export {
  type ChatRequest,
  type ModelServer,
  type ModelServerOptions,
  type RecordedRequest,
  startModelServer,
} from './server.ts';
