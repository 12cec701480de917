-- The invoice whose line a credit note's line reverses: credit of a next period that does not begin goes there first. decisions §4.
-- AlterTable
ALTER TABLE "credit_note_lines" ADD COLUMN     "reversed_invoice_id" UUID;

-- AddForeignKey
ALTER TABLE "credit_note_lines" ADD CONSTRAINT "credit_note_lines_organisation_id_reversed_invoice_id_fkey" FOREIGN KEY ("organisation_id", "reversed_invoice_id") REFERENCES "invoices"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
