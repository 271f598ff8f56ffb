import { Module } from '@nestjs/common';
import { SettingsController } from './settings.controller.ts';

@Module({ controllers: [SettingsController] })
export class WebModule {}
