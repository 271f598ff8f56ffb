import { Module } from '@nestjs/common';
import type pg from 'pg';
import type { GatewayConfig } from '../config.ts';
import { AUTH_POOL, CONFIG } from '../tokens.ts';
import { Attempts } from './attempts.ts';
import { Authenticator } from './authenticator.ts';
import { IdentitySweep } from './identity.sweep.ts';
import { IdentityAudit } from './identity-audit.ts';
import { Invalidations } from './invalidation.ts';
import { KeyLookup } from './key-lookup.ts';
import { KeysController } from './keys.controller.ts';
import { KeysService } from './keys.service.ts';
import { KeysStore } from './keys.store.ts';
import { MeController } from './me.controller.ts';
import { MeService } from './me.service.ts';
import { PasswordService } from './password.service.ts';
import { PEOPLE } from './people.token.ts';
import { makePeople } from './people.ts';
import { SessionLookup } from './session-lookup.ts';
import { SignInService } from './sign-in.service.ts';
import { UsersStore } from './users.store.ts';

const providers = [
  {
    provide: PEOPLE,
    inject: [CONFIG, AUTH_POOL],
    useFactory: (config: GatewayConfig, pool: pg.Pool) => makePeople(config, pool),
  },
  Attempts,
  Authenticator,
  IdentityAudit,
  IdentitySweep,
  Invalidations,
  KeyLookup,
  KeysService,
  KeysStore,
  MeService,
  PasswordService,
  SessionLookup,
  SignInService,
  UsersStore,
];

/** Who is calling: people, their sessions, API keys. */
@Module({ controllers: [MeController, KeysController], providers, exports: providers })
export class IdentityModule {}
