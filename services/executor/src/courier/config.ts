import { integer, readConfig, wordList } from '@moli/config';
import { LOG_LEVELS } from '@moli/telemetry';
import * as z from 'zod';

/** Configuration of the courier of a sandbox Pod; see `docs/config.md`. The chart sets all of it. */
export const CourierConfig = z.object({
  executorAddress: z
    .string()
    .regex(/^[^\s/]+:\d+$/, 'not host:port')
    .meta({ description: 'Where executors take couriers, host:port.' }),
  executorCa: z.string().meta({ description: 'File with the certificates (PEM) that the executor is known by.' }),
  tokenFile: z.string().meta({ description: 'File with the projected service account token; read anew for each try.' }),
  sandboxSocket: z
    .string()
    .prefault('/run/moli/zygote.sock')
    .meta({ description: 'Socket of the sandbox of this Pod; its `ready.json` lies beside it.' }),
  outboxDir: z
    .string()
    .prefault('/outbox')
    .meta({ description: 'Folder for what a run makes, until it is stored. In memory, and of the courier alone.' }),
  profile: z.string().prefault('python').meta({ description: 'Which pool this Pod belongs to.' }),
  podName: z.string().meta({ description: 'Name of this Pod.' }),
  podUid: z.string().meta({ description: 'UID of this Pod.' }),
  podIp: z.string().meta({ description: 'Address of this Pod.' }),
  nodeIp: z.string().optional().meta({ description: 'Address of the node, which must be out of reach.' }),
  canaryPort: integer(1, 65_535)
    .prefault('9444')
    .meta({ description: 'Port on which the courier listens for neighbours that should not get through.' }),
  forbiddenTargets: wordList
    .prefault('')
    .meta({ description: 'What must be out of reach besides the node and its API server: host:port, commas between.' }),
  outsideTargets: wordList
    .prefault('169.254.169.254:80,1.1.1.1:443,8.8.8.8:53')
    .meta({ description: 'What stands for the outside and must be out of reach too; port 53 is asked for a name.' }),
  objectsUrl: z.url().optional().meta({ description: 'Object store; a request without a link must be refused.' }),
  objectsCa: z.string().optional().meta({ description: 'File with the certificates (PEM) of the object store.' }),
  logLevel: z.enum(LOG_LEVELS).prefault('info').meta({ description: 'Least severe log lines that are written.' }),
});
export type CourierConfig = Readonly<z.output<typeof CourierConfig>>;

export function readCourierConfig(env: NodeJS.ProcessEnv): CourierConfig {
  return readConfig(CourierConfig, env);
}
