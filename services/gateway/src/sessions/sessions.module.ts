import { Module } from '@nestjs/common';
import { EventFeed } from './event-feed.ts';
import { SessionLog } from './session-log.ts';
import { SessionsController } from './sessions.controller.ts';
import { SessionsService } from './sessions.service.ts';
import { SessionsStore } from './sessions.store.ts';

/** Sessions, their log and its readers. What writes answers into the log is the TurnsModule. */
@Module({
  controllers: [SessionsController],
  providers: [SessionsStore, SessionsService, SessionLog, EventFeed],
  exports: [SessionsStore, SessionsService, SessionLog, EventFeed],
})
export class SessionsModule {}
