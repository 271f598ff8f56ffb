import { Module } from '@nestjs/common';
import { AuditStore } from './audit.store.ts';

/** Audit rows. The store is provided to everyone by the global PlatformModule. */
@Module({ providers: [AuditStore], exports: [AuditStore] })
export class AuditModule {}
