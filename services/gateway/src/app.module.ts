import { type DynamicModule, Module } from '@nestjs/common';
import { AgentsModule } from './agents/agents.module.ts';
import { ArtifactsModule } from './artifacts/artifacts.module.ts';
import { AuditModule } from './audit/audit.module.ts';
import type { GatewayConfig } from './config.ts';
import { FilesModule } from './files/files.module.ts';
import { HealthModule } from './health/health.module.ts';
import { IdentityModule } from './identity/identity.module.ts';
import { ModelsModule } from './models/models.module.ts';
import { ObjectsModule } from './objects/objects.module.ts';
import { PlatformModule, type PlatformOptions } from './platform.module.ts';
import { ProblemFilter } from './problem/problem.filter.ts';
import { RunsModule } from './runs/runs.module.ts';
import { SessionsModule } from './sessions/sessions.module.ts';
import { TenantsModule } from './tenants/tenants.module.ts';
import { ToolsModule } from './tools/tools.module.ts';
import { TurnsModule } from './turns/turns.module.ts';
import { UploadsModule } from './uploads/uploads.module.ts';
import { WebModule } from './web/web.module.ts';

/** Every part of the gateway, one module a folder. */
@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: Nest’s form of a module that takes arguments
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
        ArtifactsModule,
        RunsModule,
        ModelsModule,
        ToolsModule,
        AgentsModule,
        SessionsModule,
        TurnsModule,
      ],
      providers: [ProblemFilter],
    };
  }
}
