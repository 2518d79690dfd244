import "reflect-metadata";
import type { AddressInfo } from "node:net";
import {
  All,
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  HttpCode,
  Injectable,
  Module,
  type OnModuleDestroy,
  Post,
  Req,
  Res,
  UseGuards,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Request, Response } from "express";
import { type Context, type Job, Millrace } from "millrace";
import { JobHandler, MillraceModule } from "millrace/nestjs";
import { type QueueHandler, type User, createHandler } from "millrace/server";
import { say, userOf, welcome } from "./shared.js";

type Known = Request & { user?: User };

@Injectable()
class SignedIn implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Known>();
    const user = userOf(request.headers.cookie);
    if (user) request.user = user;
    return user !== null;
  }
}

@Controller("admin/queue")
@UseGuards(SignedIn)
class QueueAdmin implements OnModuleDestroy {
  readonly #admin: QueueHandler;

  constructor(mill: Millrace) {
    this.#admin = createHandler({ mill, basePath: "/admin/queue" });
  }

  @All(["", "*path"])
  async all(@Req() request: Known, @Res() response: Response): Promise<void> {
    await this.#admin.node(request, response, { user: request.user });
  }

  async onModuleDestroy(): Promise<void> {
    await this.#admin.close();
  }
}

@Controller("orders")
class Orders {
  constructor(private readonly mill: Millrace) {}

  @Post()
  @HttpCode(202)
  async create(@Body() body: { email: string }): Promise<{ id: string }> {
    const { id } = await this.mill.enqueue(welcome, { email: body.email });
    return { id };
  }
}

@Injectable()
class Letters {
  greet(email: string): string {
    return `welcome, ${email}`;
  }
}

@Injectable()
class WelcomeJobs {
  constructor(private readonly letters: Letters) {}

  @JobHandler(welcome, { concurrency: 5 })
  async send(job: Job<{ email: string }>, { log }: Context): Promise<void> {
    log(this.letters.greet(job.input.email));
    say({ sent: this.letters.greet(job.input.email) });
  }
}

@Module({ controllers: [QueueAdmin, Orders], providers: [Letters, WelcomeJobs] })
class ShopModule {}

@Module({ imports: [MillraceModule.forRoot({ worker: { concurrency: 10 } }), ShopModule] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ["error", "warn"], rawBody: true });
app.enableShutdownHooks();
await app.listen(0, "127.0.0.1");
say({ port: (app.getHttpServer().address() as AddressInfo).port });
