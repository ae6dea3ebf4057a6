@problemName p
@classLabel true a b
