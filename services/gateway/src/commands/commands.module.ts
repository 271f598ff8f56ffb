import { type DynamicModule, Module } from '@nestjs/common';
import type { GatewayConfig } from '../config.ts';
import { IdentityModule } from '../identity/identity.module.ts';
import { PlatformModule } from '../platform.module.ts';
import { TenantsModule } from '../tenants/tenants.module.ts';

/** The parts that commands of the operator use: no routes, no background work. */
@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: Nest’s form of a module that takes arguments
export class CommandsModule {
  static register(config: GatewayConfig): DynamicModule {
    return { module: CommandsModule, imports: [PlatformModule.register(config), IdentityModule, TenantsModule] };
  }
}
