import { LOCALES } from '@moli/errors';
import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import { z } from 'zod';
import type { GatewayConfig } from '../config.ts';
import { acceptedTypes } from '../files/accepted-types.ts';
import { Public } from '../identity/public.ts';
import { CONFIG } from '../tokens.ts';
import { BUILD } from '../version.ts';

const Settings = z
  .object({
    version: z.string(),
    upload: z.object({
      maxBytes: z.int(),
      types: z.array(z.object({ extension: z.string(), mimeTypes: z.array(z.string()) })),
    }),
    scripted: z.boolean().describe('The configured model is a scripted one for demonstrations'),
    locales: z.array(z.enum(LOCALES)),
  })
  .meta({ id: 'Settings' });

/** What the workbench must know before anyone has signed in. */
@Controller('v1/settings')
export class SettingsController {
  constructor(@Inject(CONFIG) private readonly config: GatewayConfig) {}

  @Get()
  @Public()
  @ApiOperation({ summary: 'Bounds and choices of this installation', tags: ['operations'] })
  @ApiResponse({ status: 200, standardSchema: Settings })
  getSettings(): z.infer<typeof Settings> {
    return {
      version: BUILD.version,
      upload: {
        maxBytes: this.config.uploadMaxBytes,
        types: acceptedTypes(this.config).map(({ extension, mimeTypes }) => ({ extension, mimeTypes: [...mimeTypes] })),
      },
      scripted: this.config.modelScripted,
      locales: [...LOCALES],
    };
  }
}
