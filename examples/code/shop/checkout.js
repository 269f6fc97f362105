import { slugify } from "./slug.js";

/** Retry a payment with exponential back-off, three times at most. */
export async function payWithRetry(pay, attempts = 3) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      return await pay();
    } catch (error) {
      if (attempt === attempts - 1) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2 ** attempt * 100));
    }
  }
}

export function receiptPath(order) {
  return `/receipts/${slugify(order.title)}`;
}
