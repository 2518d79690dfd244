// A saga: bookings that are undone, newest first, when a later one fails for good.
import { type Handler, PermanentError, defineJob } from "millrace";

interface Bookings {
  book(where: string, key: string): Promise<{ id: string }>;
  cancel(id: string): Promise<void>;
}

export interface Travel {
  readonly flights: Bookings;
  readonly hotels: Bookings;
  readonly bank: { charge(cents: number, key: string): Promise<{ ok: boolean }> };
}

interface Trip {
  readonly to: string;
  readonly cents: number;
}
interface Booked {
  readonly flight: string;
  readonly hotel: string;
}

export const trip = defineJob<Trip, Booked>("trip");

export function bookTrip({ flights, hotels, bank }: Travel): Handler<Trip, Booked> {
  return async ({ input }, { step }) => {
    const flight = await step.run("flight", ({ key }) => flights.book(input.to, key), {
      maxAttempts: 5,
      undo: ({ id }) => flights.cancel(id),
    });
    const hotel = await step.run("hotel", ({ key }) => hotels.book(input.to, key), {
      maxAttempts: 5,
      undo: ({ id }) => hotels.cancel(id),
    });
    const paid = await step.run("pay", ({ key }) => bank.charge(input.cents, key));
    if (!paid.ok) throw new PermanentError("the card was refused");
    return { flight: flight.id, hotel: hotel.id };
  };
}
