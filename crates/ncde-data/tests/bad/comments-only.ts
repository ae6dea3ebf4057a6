@problemName p
@timeStamps false
@dimensions 2
@classLabel true a b
@data
# nothing

