/**
 * Returns a count with a comma between thousands: `1,234`. `toLocaleString` would load its data in
 * each workflow thread first, 35 ms in which no other workflow of the thread goes on.
 */
export function counted(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
