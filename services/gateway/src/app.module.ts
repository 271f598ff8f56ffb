import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from './audit/audit.module.ts';
import type { GatewayConfig } from './config.ts';
import { FilesModule } from './files/files.module.ts';
import { HealthModule } from './health/health.module.ts';
import { IdentityModule } from './identity/identity.module.ts';
import { ObjectsModule } from './objects/objects.module.ts';
import { PlatformModule, type PlatformOptions } from './platform.module.ts';
import { ProblemFilter } from './problem/problem.filter.ts';
import { SessionsModule } from './sessions/sessions.module.ts';
import { TenantsModule } from './tenants/tenants.module.ts';
import { UploadsModule } from './uploads/uploads.module.ts';
import { WebModule } from './web/web.module.ts';

/** Every part of the gateway, one module a folder. */
@Module({})
export class AppModule {
  static register(config: GatewayConfig, options: PlatformOptions = {}): DynamicModule {
    return {
      module: AppModule,
      imports: [
        PlatformModule.register(config, options),
        AuditModule,
        IdentityModule,
        TenantsModule,
        HealthModule,
        WebModule,
        ObjectsModule,
        FilesModule,
        UploadsModule,
        SessionsModule,
      ],
      providers: [ProblemFilter],
    };
  }
}
